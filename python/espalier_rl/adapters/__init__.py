"""Leased batches in the forms of other trainers, `verl` (DataProto) and `trl` (datasets, a rollout source for GRPO); environments of other packages,
`gymnasium` and `verifiers`."""
