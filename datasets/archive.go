package datasets

import (
	"context"
	"crypto/md5"
	"fmt"
	"path/filepath"
)

// archive describes a data set that is published as one archive holding one folder, and is read from that folder.
type archive struct {
	remote // a gzipped tar
	fileSet
}

func (a *archive) fetch(ctx context.Context, o Options) (string, error) {
	found, err := a.layout().find(o)
	if err == nil {
		if found.Archive == "" {
			return found.Dir, nil
		}
		sum, err := sumFile(ctx, found.Archive, md5.New())
		switch {
		case err != nil:
			return "", fmt.Errorf("datasets: %s: %w", a.set, err)
		case sum != a.md5:
			return "", fmt.Errorf("datasets: %s: %s: %w: MD5 %s, want %s", a.set, found.Archive, ErrAltered, sum, a.md5)
		}
		return found.Dir, a.extract(ctx, found.Archive, found.Dir)
	}
	to := downloadTo(o)
	if to == "" {
		return "", err
	}
	if err := a.bring(ctx, a.set, to, o, err); err != nil {
		return "", err
	}
	dir := filepath.Join(to, a.folders[0])
	return dir, a.extract(ctx, filepath.Join(to, a.name), dir)
}
