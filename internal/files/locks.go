package files

// LocksOf returns a name for the group of processes that see each other's locks on files in a folder. They run on one
// machine, whose [BootID] is boot, and reach the folder through one mount: two mounts of a network file system may have
// separate locks. The name is "" if unknown.
func LocksOf(dir, boot string) string {
	d := device(dir)
	if d == "" || boot == "" {
		return ""
	}
	return boot + "." + d
}
