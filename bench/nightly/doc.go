// Package nightly measures the workloads whose speed is followed night by night.
package nightly
