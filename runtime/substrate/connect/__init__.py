"""From a URL, in every spelling that deploy accepts, to a driver's client."""
