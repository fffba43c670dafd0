"""What the methods that learn by sampling train on."""
