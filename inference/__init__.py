"""The engine side: arithmetic about models and machines, and one real model that is measured."""

import os

APP_VERSION = "0.2.0"

# OpenMP reads this once, when torch is loaded. Its threads otherwise spin at every barrier, and when anything else
# wants a core (a browser is enough) each barrier waits for a thread that has been put aside. Measured on two cores
# beside one busy process: a prefill of 31 tokens 4.1 s, with sleeping threads 0.17 s; a decode pass 265 and 57 ms.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
