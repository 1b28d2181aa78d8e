"""How Google Cloud makes what a plan asks for. `clients` alone imports Google's libraries, and only inside functions."""
