"""moto's server plus the realism moto lacks."""
