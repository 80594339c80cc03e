// Package main is the rollcall command: it trains federated methods under client availability and writes what they
// reach.
//
// main.go starts, root.go has what all subcommands share, and every cmd_NAME.go is one subcommand: its flags, and calls
// into the packages below, bench/settings, bench/run and bench/nightly. Nothing here is worth importing.
// machine_flags.go has the flags of every command with an engine. The recording (recording_test.go) holds what commands
// write, byte for byte.
package main
