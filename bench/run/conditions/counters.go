package conditions

// Event names something that a processor or the kernel counts, as perf_event_open(2) does: by type and config.
type Event struct {
	Type   uint32
	Config uint64
}

// What processors count. Cycles pass at the processor's own clock, whatever it is at the moment.
var (
	Instructions = Event{Type: 0, Config: 1} // PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS
	Cycles       = Event{Type: 0, Config: 0} // PERF_COUNT_HW_CPU_CYCLES
)

// Counts are numbers of events in user mode, of all threads of this process. 0: not known.
type Counts struct{ Instructions, Cycles float64 }
