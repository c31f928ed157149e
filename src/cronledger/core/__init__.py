"""What is true of schedules and jobs. Pure: time, randomness and zone data are arguments."""
