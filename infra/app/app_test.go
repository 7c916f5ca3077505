package app

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/deploymenttest"
)

// fakeStage is a stage with a table that keeps files.
type fakeStage struct {
	*deploymenttest.Stack
	stored            map[string]string
	isFresh, isUrgent bool
}

func newFake(t *testing.T, version string) *fakeStage {
	t.Helper()
	given := map[string]string{parameter: version}
	return &fakeStage{Stack: deploymenttest.New(t, given), isFresh: true, stored: map[string]string{}}
}

// answer answers a call of a client of AWS by its input.
func (f *fakeStage) answer(in any) (any, error) {
	switch in := in.(type) {
	case *dynamodb.UpdateItemInput:
		for _, v := range in.ExpressionAttributeValues {
			return &dynamodb.UpdateItemOutput{}, f.put(*in.TableName, in.Key, v)
		}
	case *dynamodb.BatchGetItemInput:
		return f.batchGetItem(in)
	}
	return f.Answer(in)
}

func (f *fakeStage) put(table string, key map[string]types.AttributeValue, file types.AttributeValue) error {
	if table != deploymenttest.Table {
		return errors.New("the table is " + table)
	}
	f.stored[versionOf(key)] = file.(*types.AttributeValueMemberS).Value
	return nil
}

func (f *fakeStage) batchGetItem(in *dynamodb.BatchGetItemInput) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}}
	for table, of := range in.RequestItems {
		if file, ok := f.stored[versionOf(of.Keys[0])]; ok {
			item := maps.Clone(of.Keys[0])
			item["file"] = &types.AttributeValueMemberS{Value: file}
			out.Responses[table] = append(out.Responses[table], item)
		}
	}
	return out, nil
}

// versionOf is the version whose file has a key.
func versionOf(key map[string]types.AttributeValue) string {
	return strings.TrimPrefix(key["sk"].(*types.AttributeValueMemberS).Value, "registry#")
}

func (f *fakeStage) use(t *testing.T, text string) (changed bool, err error) {
	t.Helper()
	file := File{check.Got(registry.Parse([]byte(text)))(t), text}
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		err = Give(t.Context(), deploymenttest.Config(f.answer), deploymenttest.Stage, file, f.isFresh, f.isUrgent, &out)
	})
	changed = strings.Contains(out.String(), "all functions of throughline serve with the version "+file.App.Version)
	if err == nil && changed == strings.Contains(out.String(), "has the version "+file.App.Version+" already") {
		t.Errorf("says %s", &out)
	}
	return changed, err
}

func example(t *testing.T, name string) string {
	t.Helper()
	text := check.Got(os.ReadFile("../../examples/" + name + "/app.yaml"))(t)
	return string(text)
}

// version is the version of a file.
func version(t *testing.T, file string) string {
	t.Helper()
	app := check.Got(registry.Parse([]byte(file)))(t)
	return app.Version
}

// TestUse gives a stage its first registry: the file is stored, and what serves has its version when the command ends.
// Nothing else changes.
func TestUse(t *testing.T) {
	t.Parallel()
	f, file := newFake(t, ""), example(t, "tutor")
	issuer := f.Given["JwtIssuer"]
	changed, err := f.use(t, file)
	if err != nil || !changed || f.Updates != 1 {
		t.Fatalf("changed %v, %v, %d updates", changed, err, f.Updates)
	}
	if f.stored[version(t, file)] != file {
		t.Errorf("stored %v", f.stored)
	}
	if err := f.IsAt("APP_VERSION", version(t, file)); err != nil {
		t.Error(err)
	}
	if f.Given["JwtIssuer"] != issuer || f.Given["GradualReleases"] != "true" || f.PendingChangeSets() != 0 {
		t.Errorf("the parameters are %v, with %d change sets left", f.Given, f.PendingChangeSets())
	}
}

// TestUseAgain gives a stage the registry that it has, and one that its stack names and its functions do not have.
func TestUseAgain(t *testing.T) {
	t.Parallel()
	file := example(t, "tutor")
	f := newFake(t, version(t, file))
	if changed, err := f.use(t, file); changed || err != nil || f.Updates != 0 {
		t.Errorf("changed %v, %v, %d updates", changed, err, f.Updates)
	}
	for _, environment := range f.Live {
		environment["APP_VERSION"] = ""
	}
	if changed, err := f.use(t, file); !changed || err != nil || f.IsAt("APP_VERSION", version(t, file)) != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
}

// TestUseDuringAnOutage is refused by an alarm of the release, and is told so. An urgent one goes through.
func TestUseDuringAnOutage(t *testing.T) {
	t.Parallel()
	f, file := newFake(t, ""), example(t, "tutor")
	f.Firing = []string{"throughline-release-answers"}
	_, err := f.use(t, file)
	if err == nil || !strings.Contains(err.Error(), "UPDATE_ROLLBACK_COMPLETE") || f.IsAt("APP_VERSION", "") != nil {
		t.Errorf("error %v", err)
	}
	f.isUrgent = true
	if changed, err := f.use(t, file); !changed || err != nil || f.IsAt("APP_VERSION", version(t, file)) != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
}

// TestLostContextsAreRefused gives a stage a registry that lacks contexts of the one before. Nothing is stored.
func TestLostContextsAreRefused(t *testing.T) {
	t.Parallel()
	before := example(t, "tutor")
	f := newFake(t, version(t, before))
	f.stored[version(t, before)] = before
	_, err := f.use(t, example(t, "travel"))
	if err == nil || !strings.Contains(err.Error(), "the context lesson is missing") || len(f.stored) != 1 ||
		f.Updates != 0 {
		t.Errorf("error %v, %d files, %d updates", err, len(f.stored), f.Updates)
	}
}

// TestTheExampleIsNotLost keeps the contexts of the example, unless nobody has used them.
func TestTheExampleIsNotLost(t *testing.T) {
	t.Parallel()
	f := newFake(t, "")
	f.isFresh = false
	_, err := f.use(t, example(t, "tutor"))
	if err == nil || !strings.Contains(err.Error(), "coach_conversation is missing") || f.Updates != 0 {
		t.Errorf("error %v, %d updates", err, f.Updates)
	}
}

// TestFailures says what hinders a change.
func TestFailures(t *testing.T) {
	t.Parallel()
	old := newFake(t, "")
	old.Template = bytes.Replace(old.Template, []byte("\n  AppVersion:\n"), []byte("\n  OldVersion:\n"), 1)
	if _, err := old.use(t, example(t, "tutor")); !errors.Is(err, errNoVersion) || len(old.stored) != 0 {
		t.Errorf("with a template that has no version: %v, %d files", err, len(old.stored))
	}
	failed := newFake(t, "")
	failed.FailAt = "functions"
	_, err := failed.use(t, example(t, "tutor"))
	if err == nil || !strings.Contains(err.Error(), "ended in UPDATE_ROLLBACK") {
		t.Errorf("an update that fails: %v", err)
	}
	if _, err := newFake(t, "000000000000").use(t, example(t, "tutor")); err == nil {
		t.Error("the version before is not in the table, and nothing is said")
	}
	if _, err := Read("none.yaml"); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("without a file: %v", err)
	}
}
