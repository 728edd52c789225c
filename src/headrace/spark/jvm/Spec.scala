package headrace

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.types.StructType

/** What a processor is told: a JSON object written by the Python face of the processor. `step` names it in errors, logs and counts. */
final class Spec(node: JsonNode) {
  def step: String = text("step")
  def pipeline: String = optionalText("pipeline").getOrElse("")

  def text(name: String): String = optionalText(name).getOrElse(missing(name))
  def optionalText(name: String): Option[String] = present(name).map(_.asText)
  def long(name: String): Long = optionalLong(name).getOrElse(missing(name))
  def optionalLong(name: String): Option[Long] = present(name).map(_.asLong)
  def flag(name: String, otherwise: Boolean = false): Boolean = present(name).map(_.asBoolean).getOrElse(otherwise)
  def texts(name: String): Seq[String] = present(name).map(_.elements.asScala.map(_.asText).toSeq).getOrElse(Nil)
  def optionalSpec(name: String): Option[Spec] = present(name).map(new Spec(_))

  /** A struct type as Spark DDL: `total BIGINT, name STRING`. Every field may be null. */
  def schema(name: String): StructType = optionalSchema(name).getOrElse(missing(name))
  def optionalSchema(name: String): Option[StructType] = optionalText(name).map(ddl => RowEncoding.nullable(StructType.fromDDL(ddl)))

  private def present(name: String): Option[JsonNode] = Option(node.get(name)).filterNot(_.isNull)

  private def missing(name: String): Nothing =
    throw new IllegalArgumentException(s"the specification of step '${optionalText("step").getOrElse("?")}' lacks '$name'")
}

object Spec {
  private val json = new ObjectMapper()

  def apply(text: String): Spec = new Spec(json.readTree(text))
}
