"""`torch.compile`: captures ordinary Python into graphs, breaks them where it must, and turns them into few fast kernels."""
