package run

import (
	"runtime/debug"
)

// version is set by the Makefile (-X rollcall/bench/run.version=…).
var version = ""

// Version returns the version this binary was built from.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return s.Value[:12]
			}
		}
	}
	return "devel"
}
