"""Where arrays live: one arena, reused by lifetime."""
