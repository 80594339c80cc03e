// Package memory says how much memory this process may hold and which limit says so, and it reads sizes such as 8GB. A
// run that holds more than the limit would be killed after hours, without a word; so it is refused before it begins:
//
//	var c memory.Ceiling // of --memory-limit: a size, off, or empty for the system's limit
//	if l, known := c.Limit(); known && need > l.Bytes {
//		return fmt.Errorf("holds %s, want at most %s (%s)", memory.Size(need), memory.Size(l.Bytes), l.From)
//	}
package memory
