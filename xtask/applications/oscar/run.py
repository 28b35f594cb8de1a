"""A shop: every migration, a customer's order through the shop's pages, the staff's dashboard."""

import os
import sys
from importlib.metadata import version

if sys.argv[1] == "version":
    print("Django " + version("Django"), "django-oscar " + version("django-oscar"), sep=", ")
    sys.exit()

import pymysql  # noqa: E402

pymysql.version_info = (2, 2, 8, "final", 0)
pymysql.install_as_MySQLdb()
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"

import django  # noqa: E402
from django.core.management import call_command  # noqa: E402

django.setup()

if sys.argv[1] == "migrate":
    call_command("migrate", verbosity=0)
    sys.exit()

from decimal import Decimal  # noqa: E402

from django.contrib.auth import get_user_model  # noqa: E402
from django.test import Client  # noqa: E402
from oscar.core.loading import get_model  # noqa: E402


def page(client, path, data=None, status=(200,)):
    answer = client.get(path) if data is None else client.post(path, data)
    assert answer.status_code in status, (path, answer.status_code, answer.content[-3000:])
    return answer.content.decode()


Product = get_model("catalogue", "Product")
Category = get_model("catalogue", "Category")
Order = get_model("order", "Order")
# Not by `add_root()`: saving a category sends an UPDATE that MySQL refuses (1093), too.
Category.objects.bulk_create(
    [
        Category(name="Trees", slug="trees", path="0001", depth=1, numchild=1),
        Category(name="Oaks", slug="oaks", path="00010001", depth=2, numchild=1),
        Category(name="Holm oaks", slug="holm", path="000100010001", depth=3, numchild=0),
    ]
)
oaks = Category.objects.get(slug="oaks")
kind = get_model("catalogue", "ProductClass").objects.create(
    name="tree", requires_shipping=True, track_stock=True
)
partner = get_model("partner", "Partner").objects.create(name="nursery", code="nursery")
for n in range(30):
    product = Product.objects.create(
        title=f"Oak {n}", slug=f"oak-{n}", product_class=kind, upc=f"u{n}"
    )
    product.categories.add(oaks)
    get_model("partner", "StockRecord").objects.create(
        product=product, partner=partner, partner_sku=f"s{n}", price=Decimal(n + 1), num_in_stock=10
    )
get_model("address", "Country").objects.create(
    iso_3166_1_a2="GB",
    iso_3166_1_a3="GBR",
    name="United Kingdom",
    printable_name="UK",
    is_shipping_country=True,
)
print(
    "catalogue:",
    Product.objects.count(),
    "products,",
    Category.objects.count(),
    "categories, depth",
    max(Category.objects.values_list("depth", flat=True)),
)

client = Client()
register = {
    "registration-email": "buyer@example.com",
    "registration-password1": "correct horse 7",
    "registration-password2": "correct horse 7",
    "registration_submit": "1",
    "registration-redirect_url": "",
}
page(client, "/accounts/login/", register, (302,))
page(client, "/catalogue/")
found = page(client, "/search/?q=Oak+7")
print("search finds it:", "Oak 7" in found)
product = Product.objects.get(upc="u7")
page(client, f"/basket/add/{product.pk}/", {"quantity": 2}, (302,))
page(client, "/basket/")
address = {
    "first_name": "A",
    "last_name": "Buyer",
    "line1": "1 Road",
    "line4": "London",
    "postcode": "N1 9RT",
    "country": "GB",
}
page(client, "/checkout/shipping-address/", address, (302,))
page(client, "/checkout/shipping-method/", None, (302,))
page(client, "/checkout/payment-method/", None, (302,))
page(client, "/checkout/preview/")
page(client, "/checkout/preview/", {"action": "place_order"}, (302,))
order = Order.objects.get()
print(
    "order:", order.total_incl_tax, order.status, [(l.title, l.quantity) for l in order.lines.all()]
)
print("stock:", product.stockrecords.values_list("num_in_stock", "num_allocated")[0])
page(
    client,
    f"/catalogue/{product.slug}_{product.pk}/reviews/add/",
    {"title": "fine", "score": "5", "body": "It grows."},
    (302,),
)
page(client, "/accounts/orders/")

staff = get_user_model().objects.create_superuser("staff", "staff@example.com", "correct horse 8")
boss = Client()
boss.force_login(staff, backend="django.contrib.auth.backends.ModelBackend")
for path in (
    "",
    "catalogue/",
    "orders/",
    "users/",
    "offers/",
    "vouchers/",
    "reviews/",
    "ranges/",
    "partners/",
    "reports/",
    f"orders/{order.number}/",
    "orders/?order_number=1",
):
    page(boss, f"/dashboard/{path}")
report = "reports/?report_type=order_report&date_from=2020-01-01&date_to=2099-01-01"
page(boss, f"/dashboard/{report}")
page(
    boss,
    f"/dashboard/orders/{order.number}/",
    {"order_action": "change_order_status", "new_status": "Processed"},
    (302,),
)
order.refresh_from_db()
print("order is now", order.status)
page(
    boss,
    f"/dashboard/catalogue/products/{Product.objects.get(upc='u9').pk}/delete/",
    {"x": "1"},
    (302,),
)
print("after deleting one:", Product.objects.count(), "products")
page(boss, "/admin/")
call_command("dumpdata", "order", "partner", "auth", output=os.devnull)
get_user_model().objects.all().delete()
print("users left:", get_user_model().objects.count())
