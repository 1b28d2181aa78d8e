"""The REST API: routes that translate, and what is around them."""
