package cpu

import (
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/internal/revisiontest"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/cpu/kernels/bf16/tiles"
	"rollcall/nets/models"
)

// The variant for AMX computes what the others of its class do. Where the processor has no AMX, its instructions are
// emulated, which takes a while: so not all nets.
func TestEngineAMX(t *testing.T) {
	if ok, why := tiles.Install(); !ok {
		t.Skip(why)
	}
	t.Cleanup(tiles.Remove)
	// In two layers of 32 channels the gradient is unpooled into both kinds of operands.
	twice := &models.Model{Name: "twice", H: 8, W: 8, C: 3, Classes: 10, Build: func(b *models.Builder) models.Maps {
		return b.Linear(b.Conv(b.Conv(b.Input(1), 32, 3, 1), 32, 3, 0), 10, false)
	}}
	for _, m := range append(smallNets(), twice) {
		must.OK(t, m.Describe())
		for _, p := range precisions[1:] {
			// residual is as projected, but larger; the windows of wide-window are as fast in bf16.
			slow := m.Name == "residual" || m.Name == "wide-window" && p == kernels.BF16x3
			if slow && tiles.Emulating() && !longtest.On() {
				continue
			}
			t.Run(m.Name+"/"+string(p), func(t *testing.T) {
				digests := map[string]string{}
				for _, name := range []string{"avx2", "amx"} {
					t.Setenv("ROLLCALL_CPU", name)
					var d revisiontest.Digest
					engineInto(t, &d, m, p)
					digests[name] = d.String()
				}
				if digests["amx"] != digests["avx2"] {
					t.Errorf("%s, %s: amx computes other numbers than avx2", m.Name, p)
				}
			})
		}
	}
}
