"""Which values are computed together in one kernel, and why others are not."""
