"""What the capabilities agree on: protocols, the message, keys and the JSON codec. Standard library only."""
