"""`torch.version`: which PyTorch the surface is that of."""

__version__ = "2.13.0+tapescope"
git_version = ""
debug = False
cuda = None
hip = None
xpu = None
