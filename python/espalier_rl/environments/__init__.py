"""Published environments, each from its own package of PyPI, as classes of `espalier_rl.Environment`; and adapters that make such classes of
Gymnasium's text environments (`gymnasium.adapt`) and of `verifiers` (`verifiers.adapt`). Nothing is imported before it is asked for."""
