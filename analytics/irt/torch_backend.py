"""The pass over the data on torch, in float32, for an accelerator where there is one.

Holds the E step alone: torch is imported when it is made. The optimiser stays where it is, so the estimates are those
of the numpy back end to float32's precision.
"""

from typing import Any

import numpy as np

from analytics.irt.expectation import DenseRows, Expectation, Rows
from analytics.irt.quadrature import Quadrature
from analytics.irt.responses import FloatArray

ROWS_AT_ONCE = 16_384


class TorchPass:
    """E step over dense rows; call it like :func:`analytics.irt.expectation.expect`.

    Parameters
    ----------
    rows
        Dense rows.
    device
        Torch device; the accelerator where there is one, if None.

    Raises
    ------
    ValueError
        If the rows are sparse: the torch back end holds the indicators as one dense matrix.
    """

    def __init__(self, rows: Rows, device: str | None = None) -> None:
        import torch

        if not isinstance(rows, DenseRows):
            raise ValueError("backend 'torch' needs dense responses; use backend 'numpy' for sparse ones")
        self.torch: Any = torch
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.indicators = self._tensor(rows.indicators)
        self.observed = None if rows.observed is None else self._tensor(rows.observed)
        self.weights = self._tensor(rows.weights)

    def __call__(self, logs: FloatArray, quadrature: Quadrature) -> Expectation:
        """Return log-likelihood and expected counts; sums over rows are taken in float64."""
        n_items, n_categories, n_nodes = logs.shape
        contrast = self._tensor((logs[:, 1:] - logs[:, :1]).reshape(-1, n_nodes))
        reference, prior = self._tensor(logs[:, 0]), self._tensor(quadrature.log_weights)
        upper = self.torch.zeros((self.indicators.shape[1], n_nodes), dtype=self.torch.float64, device=self.device)
        answered = self.torch.zeros((n_items, n_nodes), dtype=self.torch.float64, device=self.device)
        total = 0.0
        for start in range(0, len(self.weights), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            joint = self.indicators[part] @ contrast + prior
            joint += reference.sum(0) if self.observed is None else self.observed[part] @ reference
            marginal = self.torch.logsumexp(joint, dim=1)
            weights = self.weights[part]
            total += float((weights.double() * marginal.double()).sum())
            mass = self.torch.exp(joint - marginal[:, None]) * weights[:, None]
            upper += (self.indicators[part].T @ mass).double()
            answered += (mass.sum(0)[None, :] if self.observed is None else self.observed[part].T @ mass).double()
        counts = np.empty(logs.shape)
        counts[:, 1:] = upper.cpu().numpy().reshape(n_items, n_categories - 1, n_nodes)
        counts[:, 0] = answered.cpu().numpy() - counts[:, 1:].sum(axis=1)
        return Expectation(total, counts)

    def _tensor(self, array: FloatArray) -> Any:
        """Return a float32 tensor on the device."""
        return self.torch.as_tensor(array, dtype=self.torch.float32, device=self.device)
