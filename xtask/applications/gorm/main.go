// GORM: the schema by AutoMigrate, twice and changed, then associations, transactions, searches,
// upserts, locks, soft deletes and batches.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type Forest struct {
	gorm.Model
	Name  string `gorm:"size:80;uniqueIndex"`
	Trees []Tree `gorm:"constraint:OnUpdate:CASCADE,OnDelete:SET NULL"`
}

type Tree struct {
	ID       uint64
	Name     string  `gorm:"size:80;not null;index:by_name,sort:desc"`
	Height   float64 `gorm:"type:decimal(8,2);default:1.5;check:height >= 0"`
	Planted  time.Time
	Notes    string `gorm:"type:json"`
	ForestID *uint
	Owners   []Owner `gorm:"many2many:tree_owner"`
	Version  int     `gorm:"comment:counts"`
}

type Owner struct {
	ID    uint
	Email string `gorm:"size:120;unique"`
	Bytes []byte
	On    bool
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	if os.Args[1] == "version" {
		info, _ := debug.ReadBuildInfo()
		for _, module := range info.Deps {
			if module.Path == "gorm.io/gorm" {
				fmt.Println("gorm", module.Version)
			}
		}
		return
	}
	env := os.Getenv
	dsn := fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?charset=utf8mb4&parseTime=True&loc=UTC",
		env("DB_USER"), env("DB_PASSWORD"), env("DB_HOST"), env("DB_PORT"), env("DB_NAME"))
	db, err := gorm.Open(mysql.Open(dsn), &gorm.Config{Logger: logger.Default.LogMode(logger.Silent)})
	check(err)
	if os.Args[1] == "migrate" {
		check(db.AutoMigrate(&Forest{}, &Tree{}, &Owner{}))
		return
	}
	// A second one compares the schema with the models.
	check(db.AutoMigrate(&Forest{}, &Tree{}, &Owner{}))
	migrator := db.Migrator()
	check(migrator.RenameIndex(&Tree{}, "by_name", "by_names"))
	check(migrator.RenameColumn(&Owner{}, "on", "active"))
	check(migrator.RenameColumn(&Owner{}, "active", "on"))
	columns, err := migrator.ColumnTypes(&Tree{})
	check(err)
	for _, column := range columns {
		kind, _ := column.ColumnType()
		null, _ := column.Nullable()
		fmt.Print(column.Name(), " ", kind, " ", null, "; ")
	}
	fmt.Println()
	indexes, err := migrator.GetIndexes(&Tree{})
	check(err)
	fmt.Println("indexes:", len(indexes), "constraint:", migrator.HasConstraint(&Forest{}, "Trees"))

	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := 0; n < 5; n++ {
		forest := Forest{Name: fmt.Sprintf("forest %d", n)}
		for m := 0; m < 10; m++ {
			forest.Trees = append(forest.Trees, Tree{Name: fmt.Sprintf("tree %d%d", n, m), Height: float64(m) + 0.25,
				Planted: day.AddDate(0, 0, m), Notes: fmt.Sprintf(`{"n": %d}`, m),
				Owners: []Owner{{Email: fmt.Sprintf("o%d%d@example.com", n, m), Bytes: []byte{0, 255}, On: m%2 == 0}}})
		}
		check(db.Create(&forest).Error)
	}
	var forests []Forest
	check(db.Preload("Trees", "height > ?", 7).Preload("Trees.Owners").Order("name DESC").Limit(2).Find(&forests).Error)
	for _, forest := range forests {
		fmt.Println(forest.Name, len(forest.Trees), forest.Trees[0].Owners[0].Email, forest.Trees[0].Owners[0].Bytes)
	}
	var sums []struct {
		Name  string
		Sum   float64
		Count int
	}
	check(db.Model(&Tree{}).Select("forests.name, SUM(height) sum, COUNT(*) count").Joins("JOIN forests ON forests.id = forest_id").
		Where("JSON_EXTRACT(notes, '$.n') > ?", 3).Group("forests.name").Having("count > 2").Order("forests.name").Find(&sums).Error)
	fmt.Println("sums:", sums)
	check(db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&Owner{ID: 1, Email: "changed@example.com"}).Error)
	check(db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Owner{Email: "o11@example.com"}).Error)
	err = db.Create(&Owner{Email: "o12@example.com"}).Error
	fmt.Println("twice:", err)
	fmt.Println("check:", db.Create(&Tree{Name: "low", Height: -1, Planted: day, Notes: "{}"}).Error != nil)
	err = db.Transaction(func(tx *gorm.DB) error {
		var tree Tree
		check(tx.Clauses(clause.Locking{Strength: "UPDATE"}).First(&tree, "name = ?", "tree 11").Error)
		check(tx.Model(&tree).Update("version", gorm.Expr("version + ?", 1)).Error)
		inner := tx.Transaction(func(tx *gorm.DB) error {
			check(tx.Model(&Tree{}).Where("name LIKE ?", "tree 2%").Update("height", 0).Error)
			return errors.New("back")
		})
		fmt.Println("savepoint:", inner)
		return nil
	})
	check(err)
	check(db.Delete(&Forest{}, "name = ?", "forest 3").Error)
	check(db.Unscoped().Delete(&Forest{}, "name = ?", "forest 4").Error)
	var shown, all, free int64
	check(db.Model(&Forest{}).Count(&shown).Error)
	check(db.Unscoped().Model(&Forest{}).Count(&all).Error)
	check(db.Model(&Tree{}).Where("forest_id IS NULL").Count(&free).Error)
	fmt.Println("left:", shown, all, free)
	pages := 0
	var trees []Tree
	check(db.FindInBatches(&trees, 15, func(tx *gorm.DB, batch int) error { pages = batch; return nil }).Error)
	fmt.Println("batches:", pages)
	check(migrator.DropColumn(&Owner{}, "bytes"))
	check(migrator.DropConstraint(&Forest{}, "Trees"))
	check(migrator.DropTable("tree_owner", &Tree{}, &Forest{}))
}
