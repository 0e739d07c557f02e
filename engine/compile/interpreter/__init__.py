"""An interpreter of canonical instructions whose meaning is a domain's business. Knows nothing of tensors."""
