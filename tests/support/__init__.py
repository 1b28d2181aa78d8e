"""What several test modules share: agent files, a simulated death, and faults counted at the SDK."""
