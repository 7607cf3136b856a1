"""Regressors: the matrices that multiply the parameters of a robot in its forces, momenta and energies."""
