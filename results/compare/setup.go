package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/stats"
)

// Setup returns the paragraph of a paper that says how complete runs were made, from their run.json alone: plain
// sentences on one line. The numbers reported are those of the metrics. own has settings of methods whose names do not
// begin with the method's. It is empty without a complete run.
func Setup(runs []results.Run, own []string, reported ...metrics.Metric) string {
	s := setup{own: own, named: map[string]bool{}}
	for i := range runs {
		if runs[i].Status() == results.RunComplete {
			s.runs = append(s.runs, &runs[i])
		}
	}
	if len(s.runs) == 0 {
		return ""
	}
	sentences := []string{s.compared(), s.split(), s.available(), s.training(), s.net(), s.rounds(reported), s.rates()}
	sentences = append(sentences, s.methods(), s.rest(), s.seeds(), s.machine(), leftOut(runs))
	return strings.Join(slices.DeleteFunc(sentences, func(text string) bool { return text == "" }), " ")
}

// setup are complete runs, with the names of the settings that were said.
type setup struct {
	runs  []*results.Run
	own   []string
	named map[string]bool
}

// get returns a setting of a run as text; "" for what the run does not read, and for what is off.
func (s *setup) get(r *results.Run, name string) string {
	s.named[name] = true
	value, has := r.Settings()[name]
	text := fmt.Sprint(value)
	if !has || slices.Contains([]string{"none", "0", "false", "<nil>"}, text) {
		return ""
	}
	if x, err := files.ParseNumber(text, 64); err == nil && len(text) > 8 { // 1/150
		text = strconv.FormatFloat(x, 'g', 4, 64)
	}
	return text
}

// each returns the different texts of the runs in their order, without empty ones.
func (s *setup) each(text func(r *results.Run) string) []string {
	all, _ := results.Grouped(s.runs, text)
	return slices.DeleteFunc(all, func(text string) bool { return text == "" })
}

// settingGroups are what a setting may depend on, the simplest first: the word before a run's group, and its name.
var settingGroups = []struct {
	word string
	name func(r *results.Run) string
}{
	{"for", func(*results.Run) string { return "" }},
	{"for", dataOf},
	{"for", methodOf},
	{"under", func(r *results.Run) string { return r.Availability }},
	{"in preset", func(r *results.Run) string { return r.Preset }},
	{"for", func(r *results.Run) string { return methodOf(r) + " on " + dataOf(r) }},
	{"for", func(r *results.Run) string { return methodOf(r) + " under " + r.Availability }},
	{"for", func(r *results.Run) string { return dataOf(r) + " under " + r.Availability }},
	{"for", func(r *results.Run) string { return methodOf(r) + " on " + dataOf(r) + " under " + r.Availability }},
}

func dataOf(r *results.Run) string { return papers.DataTitle(r.Data) }

func methodOf(r *results.Run) string { return papers.MethodTitle(r.Method) }

// said returns a text about the runs, once if it is the same for all, and else for each group that has its own: "10 for
// SVHN and 5 for MNIST". Runs with an empty text do not count. If even runs of one group differ, it lists all texts.
func (s *setup) said(text func(r *results.Run) string) string {
	for _, group := range settingGroups {
		names, of := results.Grouped(s.runs, group.name)
		if slices.ContainsFunc(names, func(name string) bool {
			return slices.ContainsFunc(of[name], func(r *results.Run) bool { return text(r) != text(of[name][0]) })
		}) {
			continue
		}
		texts, groups := results.Grouped(names, func(name string) string { return text(of[name][0]) })
		var parts []string
		for _, t := range texts {
			switch {
			case t == "":
			case len(texts) == 1:
				parts = append(parts, t)
			default:
				parts = append(parts, t+" "+group.word+" "+files.Listed(groups[t], "and"))
			}
		}
		return files.Listed(parts, "and")
	}
	return files.Listed(s.each(text), "or")
}

// setting returns [setup.said] of one setting with a format, which has one verb.
func (s *setup) setting(name, format string) string {
	return s.said(func(r *results.Run) string { return ifSet(format, s.get(r, name)) })
}

// ifSet returns a format with its value, or "" without a value.
func ifSet(format, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf(format, value)
}

// sentence joins the parts that are not empty with commas, and ends them with a full stop; "" without a part.
func sentence(parts ...string) string {
	if text := withCommas(parts...); text != "" {
		return capital(text) + "."
	}
	return ""
}

// count returns a format of a setting that is a count with its noun, "10 local steps".
func (s *setup) count(name, noun string) string {
	return s.said(func(r *results.Run) string {
		switch value := s.get(r, name); value {
		case "":
			return ""
		case "1":
			return "1 " + noun
		default:
			return value + " " + noun + "s"
		}
	})
}

// compared names methods, data sets and clients.
func (s *setup) compared() string {
	s.named["method"], s.named["data"] = true, true
	data := s.each(func(r *results.Run) string {
		about := []string{
			ifSet("δ = %s", s.get(r, "leaf-delta")), ifSet("γ = %s", s.get(r, "leaf-gamma")),
			s.sizes(r),
		}
		return dataOf(r) + ifSet(" (%s)", withCommas(about...))
	})
	verb := "We train "
	methods := s.each(methodOf)
	if len(methods) > 1 {
		verb = "We compare "
	}
	return verb + files.Listed(methods, "and") + " on " + files.Listed(data, "and") + ", with " +
		s.count("clients", "client") + "."
}

// sizes says how many samples of its data set a run has, where they are not all of a set of one size.
func (s *setup) sizes(r *results.Run) string {
	train, test := s.get(r, "train-size"), s.get(r, "test-size")
	if r.Info.Subset != nil {
		return r.Info.Subset.String()
	}
	return withCommas(ifSet("%s training images", train), ifSet("%s test images", test))
}

// splits say how samples are cut, with a verb for alpha where the split has one; see --split.
var splits = map[string]string{
	"clients":   "each client's shares of the classes are a draw from a Dirichlet distribution with α = %s",
	"classes":   "each class is cut among the clients by a draw from a Dirichlet distribution with α = %s",
	"clusters":  "each class is cut among clusters of clients by a draw from a Dirichlet distribution with α = %s",
	"even":      "the samples are cut evenly among the clients",
	"two-class": "every client has samples of two classes",
	"file":      "a file says which client has which samples",
	"natural":   "every client has the samples of one writer",
}

// split says how the samples are split among the clients.
func (s *setup) split() string {
	return sentence(s.said(func(r *results.Run) string {
		kind, alpha := s.get(r, "split"), s.get(r, "alpha")
		format, known := splits[kind]
		switch {
		case kind == "":
			return ""
		case !known:
			return withCommas("the split is "+kind, ifSet("α = %s", alpha))
		case strings.Contains(format, "%s"):
			return fmt.Sprintf(format, alpha)
		}
		return format
	}), ifSet("every client of a second group has its labels swapped in %s", s.count("swap-pairs", "pair")),
		s.setting("validation", "a share of %s of each client's samples is kept back from training"),
		s.setting("hold-out", "a share of %s of the training samples replaces the test set"),
		s.said(func(r *results.Run) string {
			if s.get(r, "draws") == "numpy" {
				return "split and availability are drawn as FedAWE's released code draws them"
			}
			return ""
		}),
	)
}

// available names the availability models with their parameters.
func (s *setup) available() string {
	s.named["availability"] = true
	models := s.each(func(r *results.Run) string {
		about := []string{
			ifSet("a period of %s rounds", s.get(r, "period")), ifSet("γ = %s", s.get(r, "gamma")),
			ifSet("cut off below %s", s.get(r, "cutoff")), ifSet("lower step %s", s.get(r, "low")),
			ifSet("p = %s", s.get(r, "p")), ifSet("p at least %s", s.get(r, "p-min")), ifSet("g = %s", s.get(r, "g")),
			ifSet("ν = %s", s.get(r, "nu")), ifSet("ε = %s", s.get(r, "epsilon")),
			ifSet("%s clusters", s.get(r, "clusters")), ifSet("%s classes", s.get(r, "classes")),
			ifSet("q = %s", s.get(r, "q")), ifSet("%s groups", s.get(r, "groups")),
			ifSet("turns of %s rounds", s.get(r, "on")), ifSet("σ = %s", s.get(r, "sigma")),
			ifSet("exponent %s", s.get(r, "size-power")), ifSet("%s seconds a round", s.get(r, "round-seconds")),
			ifSet("%s clients drawn from the file", cmp.Or(s.get(r, "trace-sample"), s.get(r, "chain-sample"))),
			ifSet("round 0 at time %s of the file", s.get(r, "trace-offset")),
			ifSet("population %s", s.get(r, "population")),
			ifSet("away for %s rounds after each round", s.get(r, "min-separation")),
			ifSet("outages %s", s.get(r, "outages")),
		}
		return r.Availability + ifSet(" (%s)", withCommas(about...))
	})
	return "The model of availability is " + files.Listed(models, "or") + "."
}

// training says what a client does in a round.
func (s *setup) training() string {
	steps := files.Listed(slices.DeleteFunc([]string{
		s.count("local-steps", "local step"), s.count("local-epochs", "local epoch"),
	}, func(text string) bool { return text == "" }), "or")
	return "In a round, a client trains for " + steps + " on batches of " + s.count("batch", "sample") +
		ifSet(", with momentum %s", s.setting("momentum", "%s")) +
		ifSet(", with weight decay %s", s.setting("weight-decay", "%s")) +
		ifSet(", with gradients clipped at norm %s", s.setting("clip", "%s")) +
		ifSet(", with crops and flips drawn per %s", s.setting("augment", "%s")) + "."
}

// net names the nets and their initial weights.
func (s *setup) net() string {
	return sentence("the net is "+s.setting("net", "%s"), ifSet("initialized by %s", s.setting("init", "%s")),
		ifSet("initialized from %s", s.setting("init-from", "%s")))
}

// rounds says how long the training is and which numbers are reported.
func (s *setup) rounds(reported []metrics.Metric) string {
	last := s.said(func(r *results.Run) string {
		if every := s.get(r, "eval-last"); every != "1" {
			return ifSet("every %s rounds", every)
		}
		return "every round"
	})
	text := "Training takes " + s.count("rounds", "round") + ", with an evaluation after " +
		strings.ReplaceAll(s.setting("eval-every", "every %s rounds"), "every 1 rounds", "every round") +
		ifSet(fmt.Sprintf(" and, of the last %d, after ", metrics.Window)+"%s", last) + "."
	s.named["eval-train"], s.named["eval-train-rounds"] = true, true
	var rounds []int
	for _, r := range s.runs {
		rounds = append(rounds, r.Rounds())
	}
	var numbers []string
	for _, m := range reported {
		over, _ := m.Over(results.ProtocolRounds, rounds...)
		numbers = append(numbers, withCommas(m.Name(), over))
	}
	return text + ifSet(" We report %s.", strings.Join(numbers, "; "))
}

// rates names the learning rates and their schedule.
func (s *setup) rates() string {
	schedules := map[string]string{
		"decay": "is divided by the square root of t/10 + 1 in round t", "constant": "is constant",
	}
	schedule := s.said(func(r *results.Run) string {
		value := s.get(r, "lr-schedule")
		return cmp.Or(schedules[value], value)
	})
	return sentence("the local learning rate is "+s.setting("lr", "%s")) +
		ifSet(" It %s.", schedule) + " " + sentence("the server learning rate is "+s.setting("server-lr", "%s"),
		ifSet("with momentum %s at the server", s.setting("server-momentum", "%s")),
		ifSet("with weight decay %s at the server", s.setting("server-weight-decay", "%s")))
}

// methods names the methods' own parameters.
func (s *setup) methods() string {
	said := maps.Clone(s.named) // by the sentences before
	return sentence(strings.Join(s.each(func(r *results.Run) string {
		var params []string
		for _, name := range s.names(r) {
			short, is := strings.CutPrefix(name, r.Method+"-")
			if said[name] || !is && !slices.Contains(s.own, name) {
				continue
			}
			if value := s.get(r, name); value != "" {
				params = append(params, short+" = "+value)
			}
		}
		return ifSet(methodOf(r)+" has %s", files.Listed(params, "and"))
	}), "; "))
}

// names returns the names of a run's settings, sorted.
func (s *setup) names(r *results.Run) (names []string) {
	for name := range r.Settings() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// rest names the preset, and all settings that no other sentence has.
func (s *setup) rest() string {
	var others []string
	for _, r := range s.runs {
		for _, name := range s.names(r) {
			if name != "preset" && !s.named[name] {
				others = append(others, name)
			}
		}
	}
	var parts []string
	for _, name := range files.SortedSet(others) {
		if text := s.setting(name, name+" = %s"); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.TrimSpace(sentence(ifSet("the preset is %s", s.setting("preset", "%s"))) + " " +
		sentence(ifSet("other settings: %s", strings.Join(parts, ", "))))
}

// seeds names the seeds of the numbers.
func (s *setup) seeds() string {
	cells, of := results.Grouped(s.runs, func(r *results.Run) results.CellKey { return r.Key() })
	seedsOf := func(runs []*results.Run) (seeds []uint32) {
		for _, r := range runs {
			seeds = append(seeds, r.Seed)
		}
		return files.SortedSet(seeds)
	}
	var counts []int
	all := seedsOf(s.runs)
	for _, cell := range cells {
		counts = append(counts, len(seedsOf(of[cell])))
	}
	list := strings.Split(strings.Trim(fmt.Sprint(all), "[]"), " ")
	switch {
	case len(all) == 1:
		return "All numbers are of one seed, " + list[0] + "."
	case slices.Min(counts) < len(all):
		return "The numbers are over " + Counted(counts, "seed") + ", of " + files.Listed(list, "and") + "."
	}
	return "All numbers are over the seeds " + files.Listed(list, "and") + "."
}

// machine names program, engine and device, and says how long the runs took.
func (s *setup) machine() string {
	on := func(of func(r *results.Run) string) string { return files.Listed(s.each(of), "and") }
	text := "The runs were computed by rollcall " + on(func(r *results.Run) string { return r.Info.Version }) + " in " +
		on(func(r *results.Run) string { return r.Info.Precision }) + " by the engine " +
		on(func(r *results.Run) string { return r.Info.Engine }) +
		ifSet(" on %s", on(func(r *results.Run) string { return r.Info.Device })) + "."
	var took []float64
	for _, r := range s.runs {
		if sec := r.Info.Finished.Sub(r.Info.Started).Seconds(); sec > 0 && !r.Info.Started.IsZero() {
			took = append(took, sec)
		}
	}
	if len(took) == 0 {
		return text
	}
	all := 0.0
	for _, sec := range took {
		all += sec
	}
	if len(took) == 1 {
		return text + " The run took " + lasting(all) + "."
	}
	return fmt.Sprintf("%s From start to end, the %s took %s in the median and %s in sum.", text,
		files.Count(len(took), "run"), lasting(stats.Median(took).Value), lasting(all))
}

// lasting returns a time to two or three digits.
func lasting(sec float64) string {
	switch {
	case sec < 120:
		return fmt.Sprintf("%.2g s", sec)
	case sec < 2*3600:
		return fmt.Sprintf("%.0f min", sec/60)
	}
	return fmt.Sprintf("%.1f h", sec/3600)
}

// leftOut says which runs are in no number.
func leftOut(runs []results.Run) string {
	var statuses []results.RunStatus
	for i := range runs {
		if status := runs[i].Status(); status != results.RunComplete {
			statuses = append(statuses, status)
		}
	}
	if len(statuses) == 0 {
		return ""
	}
	how := results.CommonStatus(statuses)
	if !strings.Contains(how, " ") {
		how = fmt.Sprintf("%d %s", len(statuses), how)
	}
	how = strings.Replace(how, string(results.RunUnfinished), "without a run.json", 1)
	return "Left out are runs that are not complete: " + how + "."
}
