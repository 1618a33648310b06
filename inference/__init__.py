"""The engine side: arithmetic about models and machines, and one real model that is measured."""

APP_VERSION = "0.1.0"
