package e2e

import (
	"fmt"
	"maps"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"rollcall/bench/cli"
	"rollcall/datasets"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

const (
	clusterPage = "docs/cluster.md"
	clusterJob  = "docs/cluster/job.yaml"
)

// clusterKinds returns the documents of one kind of all manifests, by file and name.
func clusterKinds(t *testing.T, kind string) map[string]manifest {
	t.Helper()
	found := map[string]manifest{}
	for name, text := range clusterFiles(t) {
		for _, d := range readManifests(t, name, text) {
			if d.at("kind").text() == kind {
				found[name+" "+d.at("metadata", "name").text()] = d
			}
		}
	}
	return found
}

// clusterPods returns the specification of every pod that the manifests make.
func clusterPods(t *testing.T) map[string]manifest {
	t.Helper()
	pods := map[string]manifest{}
	for name, job := range clusterKinds(t, "Job") {
		pods[name] = job.at("spec", "template", "spec")
	}
	for name, pod := range clusterKinds(t, "Pod") {
		pods[name] = pod.at("spec")
	}
	return pods
}

// clusterArgs returns the arguments of rollcall in the pod of an index, also where a shell writes them; nil: it runs
// another program.
func clusterArgs(t *testing.T, pod manifest, index int) []string {
	t.Helper()
	container := pod.at("containers", 0)
	if container.at("command").value == nil {
		return container.at("args").texts()
	}
	words := container.at("command").texts()
	line, isOurs := strings.CutPrefix(words[len(words)-1], "exec rollcall ")
	if !isOurs {
		return nil
	}
	cmd := exec.Command("sh", "-c", "printf '%s\\n' "+line)
	cmd.Env = []string{fmt.Sprint("JOB_COMPLETION_INDEX=", index)}
	return strings.Fields(string(must.Get(cmd.Output())(t)))
}

// clusterFlags returns the flags of a command line of rollcall, which must be known.
func clusterFlags(t *testing.T, args []string) *pflag.FlagSet {
	t.Helper()
	cmd, rest, err := cli.Root().Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return cmd.Flags()
}

// clusterValue is the value of a flag, given or not.
func clusterValue(t *testing.T, args []string, flag string) string {
	t.Helper()
	f := clusterFlags(t, args).Lookup(flag)
	if f == nil {
		t.Fatalf("%q has no --%s, want one", args, flag)
	}
	return f.Value.String()
}

// The command lines of the manifests are such as rollcall takes, and train the data set that was downloaded.
func TestClusterCommands(t *testing.T) {
	longtest.Only(t, "every command line of the manifests")
	dir := t.TempDir()
	writeTinyData(t, dir)
	t.Setenv("ROLLCALL_DATA", path.Join(dir, "data"))
	var fetched, trained []string
	for name, pod := range clusterPods(t) {
		t.Run(name, func(t *testing.T) {
			args := clusterArgs(t, pod, 0)
			switch {
			case args == nil: // another program
			case len(args) == 3 && args[0] == "data" && args[1] == "fetch":
				if !slices.Contains(datasets.Names(), args[2]) {
					t.Errorf("data fetch %s: want one of %q", args[2], datasets.Names())
				}
				fetched = append(fetched, args[2])
			default:
				trained = append(trained, clusterValue(t, args, "data"))
				line := slices.Concat(args, strings.Fields(docsFedAWE), []string{"--plan", "--out", t.TempDir()})
				if plan := pass(t, line...).stdout; !strings.Contains(plan, " to train\n") {
					t.Errorf("%q, want a plan", plan)
				}
				if clusterValue(t, args, "device") != "cuda" {
					t.Errorf("%q, want --device cuda, which fails without a card", args)
				}
			}
		})
	}
	for _, data := range trained {
		if trimmed := strings.Trim(data, "[]"); !slices.Contains(fetched, trimmed) {
			t.Errorf("trained: %s, fetched: %q, want the same", trimmed, fetched)
		}
	}
	if len(trained) != 1 || len(fetched) != 1 {
		t.Errorf("%q trained, %q fetched, want a command each", trained, fetched)
	}
}

// clusterUser and the others are what Dockerfile.cuda says of the image.
var (
	clusterUser    = regexp.MustCompile(`useradd .*--uid (\d+)`)
	clusterFolder  = regexp.MustCompile(`(?m)^WORKDIR (/rollcall)$`)
	clusterData    = regexp.MustCompile(`ROLLCALL_DATA=(\S+)`)
	clusterKernels = regexp.MustCompile(`CUDA_CACHE_PATH=(\S+)`)
)

// Pods run as the image's user, keep what they write on volumes that are claimed, and have the time to end.
func TestClusterPods(t *testing.T) {
	image := contents(t, "../../Dockerfile.cuda")
	of := func(what *regexp.Regexp) string {
		t.Helper()
		m := what.FindStringSubmatch(image)
		if m == nil {
			t.Fatalf("Dockerfile.cuda: no %s, want it", what)
		}
		return m[1]
	}
	user, folder, data, kernels := of(clusterUser), of(clusterFolder), of(clusterData), of(clusterKernels)
	claims := map[string]manifest{}
	for name, claim := range clusterKinds(t, "PersistentVolumeClaim") {
		claims[strings.Fields(name)[1]] = claim
	}
	used := map[string]bool{}
	for name, pod := range clusterPods(t) {
		t.Run(name, func(t *testing.T) {
			for _, field := range []string{"runAsUser", "runAsGroup", "fsGroup"} {
				if got := pod.at("securityContext", field).value; fmt.Sprint(got) != user {
					t.Errorf("%s: %v, want %s as in Dockerfile.cuda", field, got, user)
				}
			}
			if got := pod.at("shareProcessNamespace").value; got != true {
				t.Errorf("shareProcessNamespace: %v, want true: rollcall is not to be process 1", got)
			}
			container := pod.at("containers", 0)
			cards := container.at("resources", "limits", "nvidia.com/gpu").value
			volumes, mounted := map[string]string{}, []string{}
			for _, v := range pod.at("volumes").list() {
				claim := v.at("persistentVolumeClaim", "claimName").text()
				if claims[claim].value == nil {
					known := slices.Sorted(maps.Keys(claims))
					t.Errorf("volume %s: claim %q: want one of %q", v.at("name").text(), claim, known)
				}
				volumes[v.at("name").text()], used[claim] = claim, true
			}
			for _, m := range container.at("volumeMounts").list() {
				if volumes[m.at("name").text()] == "" {
					t.Errorf("mount of %s: want a volume", m.at("name").text())
				}
				mounted = append(mounted, m.at("mountPath").text())
			}
			kept := func(what, file string) {
				t.Helper()
				if !slices.ContainsFunc(mounted, func(m string) bool { return strings.HasPrefix(file+"/", m+"/") }) {
					t.Errorf("%s are in %s: want it on one of the volumes %q", what, file, mounted)
				}
			}
			args := clusterArgs(t, pod, 0)
			switch {
			case args == nil: // looks at what others have made
				kept("results", path.Join(folder, "out"))
			case args[0] == "data":
				kept("data sets", data)
			default:
				kept("data sets", data)
				kept("compiled kernels", kernels)
				out := clusterValue(t, args, "out")
				if !path.IsAbs(out) {
					out = path.Join(folder, out)
				}
				kept("results", out)
				grace := must.Get(time.ParseDuration(clusterValue(t, args, "grace")))(t)
				end, _ := pod.at("terminationGracePeriodSeconds").value.(int)
				if least := grace + 10*time.Second; time.Duration(end)*time.Second < least {
					t.Errorf("terminationGracePeriodSeconds: %d, want %v or more: --grace and some time", end, least)
				}
				if cards != 1 {
					t.Errorf("nvidia.com/gpu: %v, want 1", cards)
				}
				return
			}
			if cards != nil {
				t.Errorf("nvidia.com/gpu: %v, want none: it trains nothing", cards)
			}
		})
	}
	for claim := range claims {
		if !used[claim] {
			t.Errorf("claim %s: no pod has it, want it used", claim)
		}
	}
}

// Of the statuses, Jobs ignore those of an interruption and of a command to be repeated, give up at that of a usage
// error, and count the others. Pods have all parts, each its own.
func TestClusterFailures(t *testing.T) {
	claims := clusterKinds(t, "PersistentVolumeClaim")
	for name, job := range clusterKinds(t, "Job") {
		t.Run(name, func(t *testing.T) {
			spec := job.at("spec")
			pod := spec.at("template", "spec")
			if got := pod.at("restartPolicy").text(); got != "Never" {
				t.Errorf("restartPolicy: %s, want Never, which podFailurePolicy wants", got)
			}
			args := clusterArgs(t, pod, 0)
			if args[0] == "data" {
				return
			}
			got, want := spec.at("podFailurePolicy", "rules").value, []any{
				map[string]any{
					"action":          "Ignore",
					"onPodConditions": []any{map[string]any{"type": "DisruptionTarget", "status": "True"}},
				},
				map[string]any{
					"action":      "Ignore",
					"onExitCodes": map[string]any{"operator": "In", "values": []any{statusTimeUp, statusInterrupted}},
				},
				map[string]any{
					"action":      "FailJob",
					"onExitCodes": map[string]any{"operator": "In", "values": []any{statusUsage}},
				},
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("podFailurePolicy: %v, want %v", got, want)
			}
			n, _ := spec.at("completions").value.(int)
			for _, index := range []int{0, n - 1} {
				args := clusterArgs(t, pod, index)
				if part := clusterValue(t, args, "part"); part != fmt.Sprintf("%d/%d", index+1, n) {
					t.Errorf("%q: --part %s of %d pods", args, part, n)
				}
				if clusterValue(t, args, "no-wait") != "true" {
					t.Errorf("%q, want --no-wait", args)
				}
			}
			mode, perIndex := spec.at("completionMode").text(), spec.at("backoffLimitPerIndex").value
			if mode != "Indexed" || perIndex == nil {
				t.Errorf("completionMode %s, backoffLimitPerIndex %v, want Indexed and a number", mode, perIndex)
			}
			for _, v := range pod.at("volumes").list() {
				for claim, c := range claims {
					if !strings.HasSuffix(claim, " "+v.at("persistentVolumeClaim", "claimName").text()) {
						continue
					}
					if modes := c.at("spec", "accessModes").texts(); !slices.Equal(modes, []string{"ReadWriteMany"}) {
						t.Errorf("%s: accessModes %q, want ReadWriteMany: pods share the folder", claim, modes)
					}
				}
			}
		})
	}
}

// The page names every manifest, and no job or pod that the manifests do not make.
func TestClusterPage(t *testing.T) {
	page := contents(t, "../../"+clusterPage)
	for name := range clusterFiles(t) {
		if !strings.Contains(page, "kubectl apply -f "+name) {
			t.Errorf("%s: %s is applied nowhere, want it", clusterPage, name)
		}
	}
	names := regexp.MustCompile(`\b(job|pod)/(\w[\w-]*)|kubectl exec ([\w-]+) `).FindAllStringSubmatch(page, -1)
	if len(names) == 0 {
		t.Errorf("%s: want some jobs and pods", clusterPage)
	}
	for _, m := range names {
		kind, name := map[string]string{"job": "Job", "pod": "Pod", "": "Pod"}[m[1]], strings.TrimSuffix(m[2]+m[3], "-")
		found := slices.ContainsFunc(slices.Collect(maps.Keys(clusterKinds(t, kind))), func(of string) bool {
			return strings.HasSuffix(of, " "+name)
		})
		if !found {
			t.Errorf("%s: %s: no manifest makes a %s of this name", clusterPage, m[0], kind)
		}
	}
}
