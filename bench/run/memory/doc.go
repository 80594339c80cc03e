// Package memory says how much memory this process may hold, by which limit, and reads sizes such as 8GB.
//
// available.go finds the smallest of the limits of a Linux system, process.go those of the process itself, cgroup.go
// those of its control groups; the other systems have a file each.
package memory
