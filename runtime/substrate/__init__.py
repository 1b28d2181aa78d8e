"""The memory and history stores an agent imports. Drivers are loaded when a store connects, not before."""
