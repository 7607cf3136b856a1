"""Run the comparison of GPU and processor: see `suite`. Processes that it starts import that module by its name."""

import sys

from .suite import main

sys.exit(main())
