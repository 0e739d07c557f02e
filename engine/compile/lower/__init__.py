"""From graphs of primitives to kernels: simplification, fusion, loops, and their printers."""
