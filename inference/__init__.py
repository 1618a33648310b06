"""The engine side: arithmetic about models and machines, and one real model that is measured."""

import os

APP_VERSION = "0.1.0"

# OpenMP reads this once, when torch is loaded. Its threads otherwise spin at every barrier, and when anything else
# wants a core (a browser is enough) each barrier waits for a thread that has been put aside: measured here on two
# cores beside one busy process, a prefill of 31 tokens took 4.1 s instead of 0.17 s, a decode pass 265 ms instead of 57.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
