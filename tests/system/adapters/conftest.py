"""Has what fails in the staging told as in a test."""

import pytest

pytest.register_assert_rewrite("tests.system.adapters.staging")
