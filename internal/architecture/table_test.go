package architecture_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
)

// tableShape is the part of the table that both the template and the code define, with the template's names.
type tableShape struct {
	BillingMode          string
	AttributeDefinitions []struct{ AttributeName, AttributeType string }
	KeySchema            []keyElement
	// GlobalSecondaryIndexes are sorted by name, because their order has no meaning.
	GlobalSecondaryIndexes []indexShape
	StreamSpecification    struct{ StreamViewType string }
}

type keyElement struct{ AttributeName, KeyType string }

type indexShape struct {
	IndexName  string
	KeySchema  []keyElement
	Projection struct {
		ProjectionType   string
		NonKeyAttributes []string
	}
}

func TestTableIsTheSameInTemplateAndCode(t *testing.T) {
	t.Parallel()
	var deployed tableShape
	if err := json.Unmarshal(readTemplate(t).Resources["Table"].Properties, &deployed); err != nil {
		t.Fatalf("decode Table: %v", err)
	}
	sortShape(&deployed)
	check.Same(t, tableInCode(), deployed, "table.CreateTableInput (-) and template.yaml (+)")
}

func tableInCode() tableShape {
	in := table.CreateTableInput("any")
	out := tableShape{BillingMode: string(in.BillingMode), KeySchema: keyElements(in.KeySchema)}
	for _, a := range in.AttributeDefinitions {
		out.AttributeDefinitions = append(out.AttributeDefinitions, struct{ AttributeName, AttributeType string }{
			aws.ToString(a.AttributeName), string(a.AttributeType),
		})
	}
	for _, i := range in.GlobalSecondaryIndexes {
		shape := indexShape{IndexName: aws.ToString(i.IndexName), KeySchema: keyElements(i.KeySchema)}
		shape.Projection.ProjectionType = string(i.Projection.ProjectionType)
		shape.Projection.NonKeyAttributes = i.Projection.NonKeyAttributes
		out.GlobalSecondaryIndexes = append(out.GlobalSecondaryIndexes, shape)
	}
	out.StreamSpecification.StreamViewType = string(in.StreamSpecification.StreamViewType)
	sortShape(&out)
	return out
}

func keyElements(schema []types.KeySchemaElement) []keyElement {
	out := make([]keyElement, len(schema))
	for i, e := range schema {
		out[i] = keyElement{aws.ToString(e.AttributeName), string(e.KeyType)}
	}
	return out
}

func sortShape(s *tableShape) {
	slices.SortFunc(s.AttributeDefinitions, func(a, b struct{ AttributeName, AttributeType string }) int {
		return strings.Compare(a.AttributeName, b.AttributeName)
	})
	slices.SortFunc(s.GlobalSecondaryIndexes, func(a, b indexShape) int {
		return strings.Compare(a.IndexName, b.IndexName)
	})
}

func TestTableIsProtected(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Table", "ErasuresTable"} {
		checkProtection(t, name, readTemplate(t).Resources[name])
	}
}

func checkProtection(t *testing.T, id string, resource template.Resource) {
	t.Helper()
	var p struct {
		DeletionProtectionEnabled        bool
		PointInTimeRecoverySpecification struct{ PointInTimeRecoveryEnabled bool }
		SSESpecification                 struct{ SSEEnabled bool }
		TimeToLiveSpecification          struct {
			AttributeName string
			Enabled       bool
		}
	}
	if err := json.Unmarshal(resource.Properties, &p); err != nil {
		t.Fatalf("decode %s: %v", id, err)
	}
	for name, holds := range map[string]bool{
		"DeletionPolicy is Retain":      resource.DeletionPolicy == "Retain",
		"UpdateReplacePolicy is Retain": resource.UpdateReplacePolicy == "Retain",
		"deletion protection is on":     p.DeletionProtectionEnabled,
		"point-in-time recovery is on":  p.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled,
		"encryption at rest is on":      p.SSESpecification.SSEEnabled,
		"TTL is on table.TTLAttribute":  p.TimeToLiveSpecification.AttributeName == table.TTLAttribute,
		"TTL is enabled":                p.TimeToLiveSpecification.Enabled,
	} {
		if !holds {
			t.Errorf("not true of %s: %s", id, name)
		}
	}
}

func TestRolesQueryTheIndexesAndOnlyMigrateScans(t *testing.T) {
	t.Parallel()
	var named []string
	for _, m := range regexp.MustCompile(`/index/([\w.-]+)`).FindAllSubmatch(throughline.Template, -1) {
		named = append(named, string(m[1]))
	}
	slices.Sort(named)
	check.Same(t, indexesInCode(), slices.Compact(named), "the table's indexes (-) and those that roles may query (+)")
	others, migrate, _ := strings.Cut(string(throughline.Template), "  MigrateRole:")
	if strings.Contains(others, "dynamodb:Scan") || strings.Count(migrate, "dynamodb:Scan") != 1 {
		t.Error("another role than that of migrate may scan the table")
	}
}

func indexesInCode() []string {
	var names []string
	for _, i := range tableInCode().GlobalSecondaryIndexes {
		names = append(names, i.IndexName)
	}
	return names
}
