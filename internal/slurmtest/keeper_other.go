//go:build !linux

package slurmtest

import (
	"errors"
	"syscall"
)

const canKeep = false

func ownGroup() *syscall.SysProcAttr { return nil }

func beKeeper(string, []string) error { return errors.New("slurmtest: keeper: it needs Linux") }
