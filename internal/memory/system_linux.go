package memory

import "os"

// System returns the smallest limit on the memory of this process; known is false if there is none.
func System() (l Limit, known bool) { return available(os.DirFS("/")) }
