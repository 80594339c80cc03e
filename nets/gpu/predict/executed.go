package predict

import (
	"slices"
	"strings"

	"rollcall/nets/gpu/ptx"
	"rollcall/nets/gpu/sass"
)

// executed returns how many instructions of machine code the warps of the counted blocks execute.
//
// The assembler says for every instruction which line of the PTX it comes from, and the counts say how often a warp
// executed that line. It may have moved an instruction out of a loop, or have made several copies of a loop. So a basic
// block of the machine code counts as often as the median of its instructions' lines, each divided by the number of
// basic blocks that hold a copy of the line's own basic block.
func executed(code *sass.Kernel, kernel *ptx.Kernel, counts ptx.Counts) (total float64) {
	warps, home := map[int]float64{}, map[int]int{} // by line: executions, and basic block of the PTX
	for i, block := 0, 0; i < len(kernel.Code); i++ {
		if i > 0 && (counts.Warps[i] != counts.Warps[i-1] || strings.HasPrefix(kernel.Code[i-1].Opcode, "bra")) {
			block++
		}
		warps[kernel.Code[i].Line] = float64(counts.Warps[i])
		home[kernel.Code[i].Line] = block
	}
	blocks := machineBlocks(code)
	copies := copiesOf(blocks, home)
	for _, b := range blocks {
		var executions []float64
		for _, i := range b {
			if n, ok := warps[i.Line]; ok {
				executions = append(executions, n/float64(copies[home[i.Line]]))
			}
		}
		if len(executions) > 0 {
			slices.Sort(executions)
			total += executions[len(executions)/2] * float64(len(b))
		}
	}
	return total
}

// copiesOf returns how many basic blocks of the machine code hold a copy of a basic block of the PTX: the fewest of all
// its lines, since a line may become several instructions, and parts of a block may be set apart.
func copiesOf(blocks [][]sass.Instruction, home map[int]int) map[int]int {
	holders := map[int]int{} // by line
	for _, b := range blocks {
		seen := map[int]bool{}
		for _, i := range b {
			if !seen[i.Line] {
				seen[i.Line] = true
				holders[i.Line]++
			}
		}
	}
	copies := map[int]int{}
	for line, n := range holders {
		block, ok := home[line]
		if ok && (copies[block] == 0 || n < copies[block]) {
			copies[block] = n
		}
	}
	return copies
}

// machineBlocks cuts machine code into basic blocks: a branch ends one, and its target begins one. The branch to itself
// behind the end of every kernel, and what fills up the memory behind that, are left out.
func machineBlocks(code *sass.Kernel) (blocks [][]sass.Instruction) {
	begins := map[int]bool{}
	for i, instruction := range code.Code {
		if instruction.Target >= 0 && instruction.Target != i {
			begins[instruction.Target] = true
		}
		if instruction.Is("BRA", "EXIT", "BRX", "CALL", "RET") {
			begins[i+1] = true
		}
	}
	first := 0
	for i, instruction := range code.Code {
		if instruction.Target == i {
			return append(blocks, code.Code[first:i])
		}
		if begins[i+1] {
			blocks = append(blocks, code.Code[first:i+1])
			first = i + 1
		}
	}
	return append(blocks, code.Code[first:])
}
