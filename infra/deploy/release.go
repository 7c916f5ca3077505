package deploy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/throughline/throughline/infra/deployment"
)

// WriteRelease writes the values of the template's parameters and the name of the release, for what SAM has built in a
// folder.
func WriteRelease(ctx context.Context, out io.Writer, built string, s deployment.Stage, isUrgent bool) error {
	return release(out, built, s, isUrgent, failedUpdate(ctx, s))
}

// release writes the values of the template's parameters for SAM, with what was built and these values as the
// parameter Release. SAM makes a new version of a function when its code changes, but not when the value of a
// parameter does. salt makes another release of the same.
//
// SAM leaves a parameter that it is not given as it is. So those that commands set for a while are always given.
func release(out io.Writer, built string, s deployment.Stage, isUrgent bool, salt string) error {
	values := maps.Clone(s.Given)
	if _, given := values[deployment.Release]; given {
		return fmt.Errorf("%s is computed: remove it from parameter_overrides", deployment.Release)
	}
	files := os.DirFS(built)
	if values[deployment.Topic] == deployment.NoTopic {
		values[deployment.Topic] = ""
	}
	delete(values, deployment.Gradual) // it is no part of what runs
	sum := sha256.New()
	fmt.Fprint(sum, salt)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(built, path))
		fmt.Fprintf(sum, "%q %x\n", path, sha256.Sum256(content))
		return err
	})
	if err != nil {
		return fmt.Errorf("read what was built: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(sum, "%q %q\n", name, values[name])
	}
	values[deployment.Release] = deployment.ReleaseName(sum.Sum(nil))
	values["PreviousTableName"] = ""
	values[deployment.Gradual] = s.Value(deployment.Gradual)
	if isUrgent {
		values[deployment.Gradual] = "false"
	}
	return json.NewEncoder(out).Encode(values)
}

// failedUpdate returns when the last update of the stack was taken back, and "" where it was not. The same release
// again would fail: Lambda publishes no version that is equal to the last one, which stays.
func failedUpdate(ctx context.Context, s deployment.Stage) string {
	cfg, missing := credentials(ctx, s)
	if len(missing) > 0 {
		return ""
	}
	found, err := deployment.Find(ctx, cloudformation.NewFromConfig(cfg), s.Stack)
	if err != nil || found.StackStatus != types.StackStatusUpdateRollbackComplete {
		return ""
	}
	return aws.ToTime(found.LastUpdatedTime).String()
}
