"""The notebook as a web page: building and serving the playground, recordings and replay capsules.

The page itself is TypeScript in `client/`. This package runs nothing by being imported.
"""
