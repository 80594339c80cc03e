package e2e
const wheelFolder = "ROLLCALL_TEST_WHEEL"
