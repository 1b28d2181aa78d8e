"""Amazon Web Services: RDS, ElastiCache, Secrets Manager, inside the user's VPC."""
