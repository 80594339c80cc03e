package memory

import "os"

// System returns the smallest limit that this process is under; known is false where none is.
func System() (l Limit, known bool) { return available(os.DirFS("/")) }
