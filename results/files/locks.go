package files

// LocksOf names all who see each other's locks on the files of a folder: the processes of one machine, which its boot
// id names, that have the folder by one mount. Two mounts of one network file system may each have locks of their own.
// It is "" where nobody knows.
func LocksOf(dir, boot string) string {
	d := device(dir)
	if d == "" || boot == "" {
		return ""
	}
	return boot + "." + d
}
